/** What stands for a password wherever somebody could read it. */
const hidden = '***'

/**
 * Text without the passwords of the addresses in it. What is typed, logged or reported may hold the address of a store, and a log is read
 * by more people than may open the store. A password with characters that an address cannot have is hidden as well: of an address of
 * PostgreSQL all is hidden up to the last @ of the word, even if that is too much.
 */
export function masked(text: string): string {
  return text
    .replaceAll(/\b(postgres(?:ql)?:\/\/[^\s:/?#@]*):\S*@/gi, `$1:${hidden}@`)
    .replaceAll(/\b([a-z][a-z0-9+.-]*:\/\/[^\s:/?#@]*):[^\s/?#]*@/gi, `$1:${hidden}@`)
    .replaceAll(/([?&](?:ssl)?password=)[^&\s]*/gi, `$1${hidden}`)
}
