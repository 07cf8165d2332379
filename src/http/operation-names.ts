import type { Route } from './route.ts'

/** What an operation is called in the document: generated clients have functions of these names. */
const names: Readonly<Record<string, string>> = {
  'GET /api/machines': 'listMachines',
  'GET /api/machines/:name/:version': 'getMachine',
  'GET /api/totals': 'getTotals',
  'GET /api/entities': 'listEntities',
  'GET /api/entities/:id': 'getEntity',
  'GET /api/entities/:id/history': 'getHistory',
  'GET /api/entities/:id/lanes': 'getLanes',
  'GET /api/entities/:id/progress': 'getProgress',
  'GET /api/entities/:id/explain': 'explainEntity',
  'GET /api/entities/:id/children': 'listChildren',
  'GET /api/entities/:id/report': 'getReport',
  'POST /api/entities': 'submitEntity',
  'POST /api/entities/batch': 'submitEntities',
  'POST /api/entities/:id/actions/:action': 'actOnEntity',
  'PUT /api/entities/:id/priority': 'setPriority',
  'POST /api/actions': 'actOnMany',
  'GET /api/actions/:walk': 'getActOnMany',
  'GET /api/holds': 'listHolds',
  'GET /api/holds/past': 'listPastHolds',
  'GET /api/holds/:id': 'getHold',
  'POST /api/holds': 'setHold',
  'DELETE /api/holds/:id': 'releaseHold',
  'GET /api/workers': 'listWorkers',
  'GET /api/check': 'checkCounts',
  'POST /api/repair': 'repairCounts',
  'GET /api/events': 'followEvents',
  'POST /api/uploads': 'uploadFile',
  'GET /api/uploads/:id': 'getUpload',
  'GET /api/uploads/:id/errors': 'listUploadErrors',
  'GET /api/uploads/items/:id/content': 'getItemContent',
  'GET /api/search': 'searchItems',
  'GET /api/search/:hnId/ancestors': 'listAncestors',
  'GET /api/search/:hnId/descendants': 'listDescendants',
  'GET /api/jobs/definitions': 'listJobDefinitions',
  'POST /api/jobs': 'startJob',
  'GET /api/jobs': 'listJobs',
  'GET /api/jobs/:id': 'getJob',
  'GET /api/jobs/:id/chunks': 'listChunks',
  'GET /api/jobs/:id/warnings': 'listWarnings',
  'GET /api/samples': 'areSamplesOffered',
  'POST /api/samples': 'createSamples',
  'POST /api/session': 'logIn',
  'GET /api/session': 'getSession',
  'DELETE /api/session': 'logOut',
  'GET /api/tokens': 'listTokens',
  'GET /api/tokens/:name': 'getToken',
  'POST /api/tokens': 'createToken',
  'DELETE /api/tokens/:name': 'revokeToken',
  'GET /health': 'getHealth',
  'GET /ready': 'getReadiness',
  'GET /metrics': 'getMetrics',
  'GET /openapi.json': 'getDocument',
}

/** A route that has no name here is called by its path. */
export function operationName({ method, path }: Pick<Route, 'method' | 'path'>): string {
  const words = path
    .replace(/^\/api\//, '')
    .split('/')
    .flatMap((part) => part.replace(/^:/, 'by-').split(/[^A-Za-z0-9]+/))
  const title = words.filter((word) => word !== '').map((word) => word[0]?.toUpperCase() + word.slice(1))
  return names[`${method} ${path}`] ?? method.toLowerCase() + title.join('')
}
