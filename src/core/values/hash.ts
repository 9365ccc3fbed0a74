/** 64 bits of a text as 16 hex digits, the same on every machine and in every browser. It is not cryptographic. */
export function hash64(text: string): string {
  // Two lanes with different primes: texts that collide in one lane differ in the other.
  let a = 0x811c9dc5
  let b = 0x9e3779b9
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    a = Math.imul(a ^ unit, 0x01000193)
    b = Math.imul(b ^ unit, 0x85ebca6b)
    b = (b << 13) | (b >>> 19)
  }
  a ^= text.length
  return hex(stirred(a ^ Math.imul(b, 3))) + hex(stirred(b ^ Math.imul(a, 5)))
}

/** Mixes the lane, so that every bit depends on every other. */
function stirred(lane: number): number {
  let mixed = lane
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b)
  return mixed ^ (mixed >>> 16)
}

function hex(lane: number): string {
  return (lane >>> 0).toString(16).padStart(8, '0')
}
