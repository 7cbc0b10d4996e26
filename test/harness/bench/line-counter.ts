// Counts the events of a watch by the first bytes of each line.

const ADDED = Buffer.from('{"type":"ADDED"');
const DELETED = Buffer.from('{"type":"DELETED"');
const NEW_LINE = 0x0a;

export class LineCounter {
  present = 0;
  /** The beginning of a line that is not long enough to be told; undefined in the middle of one that was. */
  #begun: Buffer | undefined = Buffer.alloc(0);

  /** Whether something came or went. */
  push(chunk: Buffer): boolean {
    const before = this.present;
    let changed = false;
    let at = 0;
    while (at < chunk.length) {
      const newLine = chunk.indexOf(NEW_LINE, at);
      const end = newLine === -1 ? chunk.length : newLine;
      if (this.#begun !== undefined) this.#tell(chunk.subarray(at, end));
      changed ||= this.present !== before;
      if (newLine === -1) break;
      this.#begun = Buffer.alloc(0);
      at = newLine + 1;
    }
    return changed;
  }

  #tell(more: Buffer): void {
    const line = Buffer.concat([this.#begun ?? Buffer.alloc(0), more.subarray(0, DELETED.length)]);
    if (line.length < DELETED.length) {
      this.#begun = line;
      return;
    }
    this.#begun = undefined;
    if (line.subarray(0, ADDED.length).equals(ADDED)) this.present += 1;
    if (line.subarray(0, DELETED.length).equals(DELETED)) this.present -= 1;
  }
}
