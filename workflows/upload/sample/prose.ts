import { Random } from './random.ts'

const words =
  'the of and to a in is it that for you on with as are this be not have but they from at or an we can was if which there will their more what about people time just like would some when than other only work code data system company really because think problem language server product build years market money open source most want make them good even been need something database network compiler kernel memory thread cache latency startup founder design program function library user web browser mobile cloud security privacy model training energy science paper research question answer article point case example reason'.split(
    ' ',
  )

/** What the API's texts are full of: entities, paragraphs that are never closed, links, and letters beyond ASCII. */
const spices = [
  'I&#x27;ve seen this before',
  '&quot;worse is better&quot;',
  'see <a href="https:&#x2F;&#x2F;example.com&#x2F;paper.pdf" rel="nofollow">https:&#x2F;&#x2F;example.com&#x2F;paper.pdf</a>',
  '<i>emphasis mine</i>',
  'x &lt; y &amp;&amp; y &gt; z',
  '<pre><code>  let x = 1\n</code></pre>',
  'naïve, café, Zürich — “quoted”',
  'これは例です',
  'nice 🙂',
  'a back\\slash and a tab\t here',
]

const phraseCount = 4_096

/** Makes up texts. They are joined from ready phrases: making each word anew would cost more than all the rest. */
export class Prose {
  readonly #random: Random
  readonly #phrases: readonly string[]

  constructor(random: Random) {
    this.#random = random
    // Phrases come from a chance of their own, so that a text takes few numbers from the stream of the items.
    const own = new Random(random.below(2 ** 31))
    this.#phrases = Array.from({ length: phraseCount }, () =>
      own.happens(0.06) ? own.pick(spices) : Array.from({ length: 4 + own.below(9) }, () => own.pick(words)).join(' '),
    )
  }

  /** A comment's or a post's body. */
  text(phrases: number): string {
    let text = this.#random.pick(this.#phrases)
    for (let count = 1; count < phrases; count += 1) {
      text += (count % 5 === 0 ? '<p>' : '. ') + this.#random.pick(this.#phrases)
    }
    return text
  }

  title(): string {
    const title = this.#random.pick(this.#phrases)
    const prefix = this.#random.happens(0.06) ? 'Show HN: ' : this.#random.happens(0.06) ? 'Ask HN: ' : ''
    return prefix + title.charAt(0).toUpperCase() + title.slice(1)
  }

  author(): string {
    // A few write much, many write little.
    return `${words[this.#random.below(words.length)]}${this.#random.skewed(90)}`
  }

  url(): string {
    const path = Array.from({ length: 2 + this.#random.below(4) }, () => this.#random.pick(words)).join('-')
    return `https://www.${this.#random.pick(words)}${this.#random.pick(words)}.com/${2007 + this.#random.below(18)}/${path}`
  }
}
