/** The pages that stand in the navigation, with the path of each one's icon. The server writes them into the document too. */
export const sections = [
  { href: '/', text: 'Overview', icon: 'M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z' },
  { href: '/machines', text: 'Machines', icon: 'M5 5h5v5H5zM14 14h5v5h-5zM7.5 10v6.5H14' },
  { href: '/entities', text: 'Entities', icon: 'M4 6h16M4 12h16M4 18h10' },
  { href: '/holds', text: 'Holds', icon: 'M9 5v14M15 5v14' },
  { href: '/workers', text: 'Workers', icon: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 20c1-4 4-5 8-5s7 1 8 5' },
  { href: '/submit', text: 'Submit', icon: 'M12 16V4M7 9l5-5 5 5M4 20h16' },
] as const

export const wavePath =
  'M6 12c3.3 0 3.3 2.6 6.7 2.6S16 12 19.3 12s3.3 2.6 6.7 2.6M6 18.5c3.3 0 3.3 2.6 6.7 2.6S16 18.5 19.3 18.5s3.3 2.6 6.7 2.6'
