/** Dark or light: as the system says, unless the reader has chosen. */
export type Theme = 'dark' | 'light'

const place = 'sluice-theme'

function chosen(): Theme | null {
  try {
    const value = localStorage.getItem(place)
    return value === 'dark' || value === 'light' ? value : null
  } catch {
    // A browser may forbid storage: then the choice lasts as long as the page.
    return null
  }
}

export function applyTheme(): void {
  const theme = chosen()
  if (theme) document.documentElement.dataset.theme = theme
}

export function themeNow(): Theme {
  const set = document.documentElement.dataset.theme
  if (set === 'dark' || set === 'light') return set
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}

export function changeTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme
  try {
    localStorage.setItem(place, theme)
  } catch {
    // See above.
  }
  dispatchEvent(new Event('themechange'))
}
