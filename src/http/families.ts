/**
 * What the API needs of the families that are loaded, besides the Control. The composer binds these ports to its families and to its Control;
 * the API knows none of them by name.
 */
export interface Families {
  readonly upload?: UploadFamily
  readonly jobs?: JobFamily
  readonly samples?: Samples
}

/** What a newcomer can try at once. */
export interface Samples {
  /** Only a store without entities is offered them. */
  offered(): Promise<boolean>
  create(actor: string): Promise<readonly number[]>
}

/** A file that is being sent, and what is said about it. */
export interface UploadAbout {
  readonly fileName: string
  /** As the header of its part says. */
  readonly contentType?: string
  /** What was announced: a file that turns out otherwise is refused. */
  readonly expectedBytes?: number
  readonly sha256?: string
  readonly md5?: string
  readonly uploadedBy: string
  readonly collection: string | null
  /** The same content from the same uploader is a new batch all the same. */
  readonly force: boolean
  /** Stands for this request however often it is sent: with `force` too, one key makes one batch. */
  readonly key?: string
}

export interface Accepted {
  readonly id: number
  /** It was there before: this is that one. */
  readonly existing: boolean
}

/** What a family shows of one of its entities; more fields than these are the family's own. */
export interface FamilyView {
  readonly id: number
  readonly state: string
}

export interface FamilyPage {
  readonly after?: number
  readonly limit?: number
}

export interface UploadFamily {
  /** Machines whose entities this family alone makes: POST /api/entities refuses them. */
  readonly machines: readonly string[]
  /** Reads the source to its end, stores it durably, then makes the batch. If the source breaks off nothing is stored. */
  receive(source: AsyncIterable<Uint8Array>, about: UploadAbout): Promise<Accepted>
  view(id: number, options: { readonly isOperator: boolean }): Promise<FamilyView>
  errors(id: number, page: FamilyPage): Promise<{ readonly errors: readonly unknown[]; readonly next: number | null }>
  /** The bytes of one item as they stand in its file, up to a bound. */
  content(id: number): Promise<UploadContent>
  search(query: UploadSearch): Promise<{ readonly found: readonly UploadFound[]; readonly next: string | null }>
  ancestors(hnId: number, options: UploadHierarchyOptions): Promise<UploadHierarchy>
  descendants(hnId: number, options: UploadHierarchyOptions): Promise<UploadHierarchy>
}

export interface UploadContent {
  readonly id: number
  readonly fileName: string
  readonly itemIndex: number
  readonly offset: number
  readonly length: number
  readonly text: string
  readonly truncated: boolean
}

export const uploadItemTypes = ['job', 'story', 'comment', 'poll', 'pollopt'] as const
export const uploadSortKeys = ['time', 'score', 'relevance'] as const
export const uploadSortOrders = ['desc', 'asc'] as const

export interface UploadSearch {
  readonly types?: readonly (typeof uploadItemTypes)[number][]
  readonly author?: string
  readonly minScore?: number
  readonly maxScore?: number
  readonly fromTime?: number
  readonly toTime?: number
  readonly text?: string
  readonly parentId?: number
  readonly includeDescendants?: boolean
  readonly maxDepth?: number
  readonly rootItemsOnly?: boolean
  readonly sortBy?: (typeof uploadSortKeys)[number]
  readonly sortOrder?: (typeof uploadSortOrders)[number]
  readonly limit?: number
  readonly after?: string
}

/** The batch that brought an item: who may see the batch may see the item. */
export interface UploadFound {
  readonly batch: number
}

export interface UploadHierarchyOptions {
  readonly depthMax?: number
  readonly limit?: number
  readonly after?: string
}

export interface UploadHierarchy {
  readonly item: UploadFound
  readonly found: readonly UploadFound[]
  readonly next: string | null
}

/** A job that can be started. */
export interface JobOffer {
  readonly id: string
  readonly version: number
  readonly description: string
  /** JSON Schema of what is to be handed over. */
  readonly parameters: unknown
  readonly steps: readonly string[]
}

export interface JobStart {
  readonly definition: string
  readonly version?: number
  readonly parameters: unknown
  readonly key?: string
  /** If the job of this key has failed or was cancelled: another one. */
  readonly again?: boolean
  readonly priority?: number
  readonly collection: string | null
  readonly startedBy: string
  /** Read one after another, each to its end before the next begins. */
  readonly attachments?: AsyncIterable<JobAttachment>
}

export interface JobAttachment {
  readonly name: string
  readonly contentType?: string
  readonly source: AsyncIterable<Uint8Array>
}

export interface JobQuery extends FamilyPage {
  readonly definition?: string
  readonly version?: number
  readonly states?: readonly string[]
  readonly from?: number
  readonly to?: number
}

export interface ChunkQuery extends FamilyPage {
  readonly step?: string
  readonly states?: readonly string[]
}

export interface JobFamily {
  readonly machines: readonly string[]
  definitions(): Promise<readonly JobOffer[]>
  start(job: JobStart): Promise<Accepted>
  job(id: number): Promise<FamilyView>
  /** Newest first. */
  jobs(query: JobQuery): Promise<{ readonly jobs: readonly FamilyView[]; readonly next: number | null }>
  chunks(id: number, query: ChunkQuery): Promise<{ readonly chunks: readonly unknown[]; readonly next: number | null }>
  warnings(id: number, page: FamilyPage): Promise<{ readonly chunks: readonly unknown[]; readonly next: number | null }>
}
