const charactersMax = 255

/** A file name as a label for people: the last part of a path, without what could confuse a terminal or a page. */
export function sanitiseFileName(given: string): string {
  const base = given.slice(-4_096).split(/[/\\]/).at(-1) ?? ''
  // Control characters, and format characters that reverse or hide what follows.
  const clean = base
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
    .trim()
  if (clean === '' || clean === '.' || clean === '..') return 'file'
  return clean.length <= charactersMax ? clean : clean.slice(0, charactersMax).toWellFormed()
}
