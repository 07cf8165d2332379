import type { EntityId } from '../../entity.ts'
import { isSluiceError, messageOf } from '../../errors.ts'
import type { Hold, HoldScope } from '../../hold.ts'
import type { Faults } from './faults.ts'
import type { Fleet } from './fleet.ts'
import type { Complain } from './judge.ts'
import type { Known } from './model.ts'
import type { Observer } from './observer.ts'
import type { Workload } from './workload/index.ts'
import type { World } from './world.ts'

/** What somebody asked for, and what became of it as far as he knows. */
interface Asked {
  /** As the model keeps it. */
  readonly request: string
  readonly what: string
  answer: 'unknown' | 'done' | 'refused'
}

/** The people: they act at random moments, through whichever process is up, and remember what they were told. */
export class Operator {
  readonly #world: World
  readonly #faults: Faults
  readonly #fleet: Fleet
  readonly #observer: Observer
  readonly #workload: Workload
  readonly #complain: Complain
  readonly #asked: Asked[] = []
  #holds: Hold[] = []

  constructor(world: World, faults: Faults, fleet: Fleet, observer: Observer, workload: Workload, complain: Complain) {
    this.#world = world
    this.#faults = faults
    this.#fleet = fleet
    this.#observer = observer
    this.#workload = workload
    this.#complain = complain
  }

  doSomething(): void {
    const { random } = this.#world
    const what = random.weighted({ act: 10, meddle: 6, flurry: 1, hold: 2, lift: 3, prioritise: 2, walk: 1 })
    switch (what) {
      case 'act':
        this.#act(this.#someone())
        break
      case 'meddle':
        this.#act(this.#childOfSomeone())
        break
      case 'flurry':
        this.#flurry()
        break
      case 'hold':
        this.#hold()
        break
      case 'lift':
        this.#lift()
        break
      case 'prioritise':
        this.#prioritise()
        break
      case 'walk':
        this.#walk()
        break
      default:
        what satisfies never
    }
  }

  /** Everybody goes home: what is held is let go. */
  liftAll(): void {
    for (let count = this.#holds.length; count > 0; count--) this.#lift()
  }

  /** What they were told must be true. */
  check(): void {
    for (const { request, what, answer } of this.#asked) {
      const times = this.#observer.model.requests.get(request) ?? 0
      if (answer === 'done' && times !== 1)
        this.#complain('G6 durability', `${what} was answered as done, and stands ${times} times in the history.`)
      if (answer === 'refused' && times !== 0)
        this.#complain('G7 no phantom', `${what} was refused, and stands ${times} times in the history.`)
      if (times > 1)
        this.#complain('G7 no phantom', `${what} was asked for once, and stands ${times} times in the history.`)
    }
  }

  /** Preferably one with whom something can be done. */
  #someone(): Known | undefined {
    const favourite = this.#workload.favourite(this.#observer.model, this.#world.random)
    if (favourite) return favourite
    let known = this.#observer.model.pick(this.#world.random)
    for (let tries = 0; tries < 4; tries++) {
      if (known?.machine.edges.some(({ on, from }) => on === 'action' && from === known?.state)) return known
      known = this.#observer.model.pick(this.#world.random)
    }
    return known
  }

  /** A child whose parent may be about to join. */
  #childOfSomeone(): Known | undefined {
    const { model } = this.#observer
    for (let tries = 0; tries < 8; tries++) {
      const parent = model.pick(this.#world.random)
      if (!parent || parent.settled) continue
      const able = model
        .childrenOf(parent.id)
        .filter(({ machine, state }) => machine.edges.some(({ on, from }) => on === 'action' && from === state))
      if (able.length > 0) return this.#world.random.pick(able)
    }
    return undefined
  }

  /** Several people want the same thing at the same time. */
  #flurry(): void {
    const known = this.#someone()
    this.#faults.count('act_in_a_flurry')
    for (let times = this.#world.random.between(2, 3); times > 0; times--) this.#act(known)
  }

  #act(known: Known | undefined): void {
    const host = this.#fleet.serving()
    if (!known || !host) return
    const { random } = this.#world
    const actions = known.machine.edges.filter((edge) => edge.on === 'action')
    const open = actions.filter((edge) => edge.from === known.state)
    // Mostly what could be done, now and then what cannot.
    const edge =
      open.length > 0 && random.chance(0.9) ? random.pick(open) : actions.length > 0 ? random.pick(actions) : null
    if (!edge) return
    this.#faults.count('act')
    const requestId = `request ${this.#asked.length + 1}`
    const asked: Asked = {
      request: `${requestId} of ${known.id}`,
      what: `${requestId} (${edge.action} of ${known.machine.name} ${known.id})`,
      answer: 'unknown',
    }
    this.#asked.push(asked)
    host.engine.control
      .act(known.id, edge.action, {
        actor: 'somebody',
        role: 'operator',
        reason: 'it seemed right',
        requestId,
        confirmed: true,
      })
      .then(
        ({ kind }) => {
          asked.answer = kind === 'done' ? 'done' : 'unknown'
        },
        (error: unknown) => this.#refused(asked, error),
      )
  }

  /** Only a conflict says that nothing was done; whatever else went wrong may have gone wrong afterwards. */
  #refused(asked: Asked, error: unknown): void {
    if (isSluiceError(error, 'conflict')) asked.answer = 'refused'
    else if (isSluiceError(error, 'invalid') || isSluiceError(error, 'unsupported'))
      this.#complain('operator', `${asked.what}: ${messageOf(error)}`)
  }

  #hold(): void {
    const host = this.#fleet.serving()
    const known = this.#someone()
    if (!host || !known) return
    this.#faults.count('hold')
    const { random } = this.#world
    const until = random.chance(0.3) ? { until: this.#observer.storeTime() + random.between(100, 5_000) } : {}
    host.engine.control
      .hold(this.#scope(known), { reason: 'let us wait', owner: 'somebody', ...until })
      .then((hold) => this.#holds.push(hold), ignore)
  }

  #scope(known: Known): HoldScope {
    const { random } = this.#world
    const scopes: HoldScope[] = [{ entity: known.id }, { machine: known.machine.name, state: known.state }]
    if (known.parent !== null) scopes.push({ parent: known.parent })
    if (known.machine.labels.includes('collection'))
      scopes.push({ label: { name: 'collection', value: random.pick(['a', 'b', 'c']) } })
    return random.pick(scopes)
  }

  #lift(): void {
    const host = this.#fleet.serving()
    if (!host || this.#holds.length === 0) return
    const hold = this.#holds.splice(this.#world.random.below(this.#holds.length), 1)[0] as Hold
    this.#faults.count('lift')
    host.engine.control.release(hold.id).catch((error: unknown) => {
      // The answer may be lost and the hold stand: it is lifted again.
      if (!isSluiceError(error, 'not_found')) this.#holds.push(hold)
    })
  }

  #prioritise(): void {
    const host = this.#fleet.serving()
    const known = this.#someone()
    if (!host || !known) return
    this.#faults.count('prioritise')
    host.engine.control.prioritise(known.id, this.#world.random.between(-5, 5)).catch(ignore)
  }

  #walk(): void {
    const host = this.#fleet.serving()
    const known = this.#someone()
    if (!host || !known) return
    const action = this.#workload.actionForAll(known)
    if (action === undefined) return
    this.#faults.count('walk')
    const filter: { machine: string; parent?: EntityId } = { machine: known.machine.name }
    if (known.parent !== null) filter.parent = known.parent
    host.engine.control
      .actOnMany(filter, action, {
        confirm: true,
        confirmed: true,
        actor: 'somebody',
        role: 'operator',
        reason: 'all of them',
      })
      .catch(ignore)
  }
}

function ignore(): void {}
