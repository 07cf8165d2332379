/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import htm from 'htm'
import { h, type VNode } from 'preact'

export { createContext, render, type VNode } from 'preact'
export { useCallback, useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks'

/** What a component may return or hold. */
export type View = VNode | string | number | null | false | undefined | readonly View[]

/** Markup as a template: every value in it becomes text, an attribute or a listener, never markup. */
export const html = (htm as unknown as { bind(create: typeof h): unknown }).bind(h) as (
  strings: TemplateStringsArray,
  ...values: unknown[]
) => VNode
