export interface RangeOptions {
  readonly from?: Date
  readonly to?: Date
}

export const rangeOf = ({ from, to }: RangeOptions): RangeOptions => ({ ...(from && { from }), ...(to && { to }) })
