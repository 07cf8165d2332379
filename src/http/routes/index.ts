import type { Context } from '../context.ts'
import type { Metrics } from '../metrics.ts'
import type { Route } from '../route.ts'
import { accessRoutes } from './access-routes.ts'
import { actingRoutes } from './acting-routes.ts'
import { entityRoutes } from './entity-routes.ts'
import { feedRoutes } from './feed-routes.ts'
import { healthRoutes } from './health-routes.ts'
import { holdRoutes } from './hold-routes.ts'
import { jobRoutes } from './job-routes.ts'
import { machineRoutes } from './machine-routes.ts'
import { operatingRoutes } from './operating-routes.ts'
import { sampleRoutes } from './sample-routes.ts'
import { submitRoutes } from './submit-routes.ts'
import { uploadRoutes } from './upload-routes.ts'

/** Every route of the API; those of families that are not loaded are left out. */
export function routesOf(context: Context, metrics: Metrics): readonly Route[] {
  return [
    ...machineRoutes(context),
    ...entityRoutes(context),
    ...submitRoutes(context),
    ...actingRoutes(context),
    ...holdRoutes(context),
    ...operatingRoutes(context),
    ...feedRoutes(context),
    ...uploadRoutes(context),
    ...jobRoutes(context),
    ...sampleRoutes(context),
    ...accessRoutes(context),
    ...healthRoutes(context, metrics),
  ]
}
