export const familyNames = [
  'Abebe',
  'Andersson',
  'Bianchi',
  'Čapek',
  'Dubois',
  'Evans',
  'Fernández',
  'García',
  'Hansen',
  'Ivanova',
  'Jansen',
  'Kowalski',
  'Lindqvist',
  'Müller',
  'Nakamura',
  "O'Brien",
  'Pérez',
  'Quispe',
  'Rossi',
  'Schäfer',
  'Šimunić',
  'Tanaka',
  'Ünal',
  'Vogel',
  'Weiß',
  'Yılmaz',
  'Zhang',
  'Łukasik',
] as const
export const givenNames = [
  'Ada',
  'Björn',
  'Chloé',
  'Daniel',
  'Elif',
  'François',
  'Grace',
  'Hiro',
  'Inés',
  'Jürgen',
  'Katarína',
  'Liam',
  'María',
  'Noah',
  'Olga',
  'Paweł',
  'Rosa',
  'Søren',
  'Tariq',
  'Ursula',
  'Viktor',
  'Wanjiru',
  'Yusuf',
  'Zoë',
] as const
export const cities = [
  ['Springfield', 'MA', '01101'],
  ['Worcester', 'MA', '01601'],
  ['Lowell', 'MA', '01850'],
  ['Salem', 'MA', '01970'],
  ['Concord', 'NH', '03301'],
  ['Keene', 'NH', '03431'],
  ['Providence', 'RI', '02903'],
  ['Hartford', 'CT', '06103'],
] as const
export const streets = ['Main Street', 'Elm Street', 'Hill Road', 'Mill Lane', 'Station Road', 'Church Street'] as const

export type Coded = readonly [code: string, display: string]

export const conditions: readonly Coded[] = [
  ['44054006', 'Diabetes mellitus type 2'],
  ['38341003', 'Hypertensive disorder'],
  ['195662009', 'Acute viral pharyngitis'],
  ['10509002', 'Acute bronchitis'],
  ['444814009', 'Viral sinusitis'],
  ['162864005', 'Body mass index 30+ - obesity'],
  ['233678006', 'Childhood asthma'],
  ['271737000', 'Anemia'],
]
export const medications: readonly Coded[] = [
  ['860975', '24 HR Metformin hydrochloride 500 MG Extended Release Oral Tablet'],
  ['314076', 'lisinopril 10 MG Oral Tablet'],
  ['308136', 'amLODIPine 2.5 MG Oral Tablet'],
  ['308182', 'Amoxicillin 250 MG Oral Capsule'],
  ['198405', 'Ibuprofen 100 MG Oral Tablet'],
]
export const vaccines: readonly Coded[] = [
  ['140', 'Influenza, seasonal, injectable, preservative free'],
  ['113', 'Td (adult) preservative free'],
  ['08', 'Hep B, adolescent or pediatric'],
  ['207', 'COVID-19, mRNA, LNP-S, PF, 100 mcg/0.5 mL dose'],
]
export const visits: readonly Coded[] = [
  ['162673000', 'General examination of patient (procedure)'],
  ['185345009', 'Encounter for symptom'],
  ['390906007', 'Follow-up encounter'],
]

/** Code, display, unit, lowest, highest and digits behind the point. */
export const measurements = [
  ['8302-2', 'Body Height', 'cm', 145, 200, 1],
  ['29463-7', 'Body Weight', 'kg', 45, 130, 1],
  ['8867-4', 'Heart rate', '/min', 50, 110, 0],
  ['8310-5', 'Body temperature', 'Cel', 36, 40, 1],
  ['2339-0', 'Glucose', 'mg/dL', 65, 180, 2],
  ['2093-3', 'Total Cholesterol', 'mg/dL', 130, 280, 2],
  ['4548-4', 'Hemoglobin A1c/Hemoglobin.total in Blood', '%', 4, 11, 1],
] as const
