/** Where things lie if nobody says otherwise. */
export const placeDefault = { store: './sluice.db', folder: './sluice-jobs' } as const
