/** A title of a machine as templates: `fileName` names one field of data, `item {hnId} of {file.name}` is a text with fields in it. */
export function titlesOf(declared: string | readonly string[] | undefined): readonly string[] {
  return declared === undefined ? [] : typeof declared === 'string' ? [declared] : declared
}

const nameMax = 120
const field = /\{([^{}]+)\}/g

/** What people call an entity: the first of its machine's titles whose fields are all there. Null: it has no name. */
export function entityName(titles: readonly string[] | undefined, data: unknown): string | null {
  for (const title of titles ?? []) {
    const name = filled(title.includes('{') ? title : `{${title}}`, data)
    if (name !== null) return name.length > nameMax ? `${name.slice(0, nameMax - 1)}…` : name
  }
  return null
}

function filled(template: string, data: unknown): string | null {
  let isWhole = true
  const text = template.replace(field, (_, path: string) => {
    const value = valueAt(data, path)
    if (value === null) isWhole = false
    return value ?? ''
  })
  return isWhole && text.trim() !== '' ? text : null
}

function valueAt(data: unknown, path: string): string | null {
  let value = data
  for (const part of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return null
    value = (value as Readonly<Record<string, unknown>>)[part]
  }
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return typeof value === 'string' && value !== '' ? value : null
}
