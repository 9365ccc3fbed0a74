import './pictures.css'
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'

export interface PictureTable {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly (string | number)[])[]
}

interface PictureProps {
  readonly title: ComponentChildren
  /** One sentence that says what can be seen, for those who don't see it. */
  readonly summary?: string
  /** The same as numbers. */
  readonly table: PictureTable
  /** Beside the title: choices that belong to the picture. */
  readonly controls?: ComponentChildren
  /** Below: what the colours and signs mean. */
  readonly legend?: ComponentChildren
  readonly children: ComponentChildren
}

/** The frame of every drawing: what it is, the drawing or the same as a table, and what its signs mean. */
export function Picture({ title, summary, table, controls, legend, children }: PictureProps) {
  const [isTable, setIsTable] = useState(false)
  const id = useId()
  return (
    <figure class="picture" aria-labelledby={id}>
      <figcaption class="picture-head">
        <span class="picture-title" id={id}>
          {title}
        </span>
        <span class="picture-controls">
          {!isTable && controls}
          <button
            type="button"
            class="picture-choice"
            aria-pressed={isTable}
            onClick={() => setIsTable(!isTable)}
            title={isTable ? 'Show the drawing' : 'Show the same as a table'}
          >
            Table
          </button>
        </span>
      </figcaption>
      {summary && <p class="picture-summary">{summary}</p>}
      {isTable ? <Numbers table={table} /> : children}
      {!isTable && legend && <div class="picture-legend">{legend}</div>}
    </figure>
  )
}

const ROWS_MAX = 500

function Numbers({ table: { columns, rows } }: { readonly table: PictureTable }) {
  return (
    // biome-ignore lint/a11y: what scrolls must be reachable without a pointer, and is no landmark
    <div class="picture-table" role="group" tabIndex={0} aria-label="The same as a table">
      <table>
        <thead>
          <tr>
            {columns.map(column => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, ROWS_MAX).map((row, i) => (
            <tr key={i}>
              {row.map((cell, column) => (
                <td key={column} class={typeof cell === 'number' ? 'is-number' : undefined}>
                  {typeof cell === 'number' ? cell.toLocaleString('en-US') : cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p class="picture-nothing">Nothing yet.</p>}
    </div>
  )
}

interface ChoiceProps<T extends string> {
  readonly label: string
  readonly choices: readonly (readonly [value: T, text: string, hint?: string])[]
  readonly value: T
  readonly onChange: (value: T) => void
}

/** A few ways to see a picture, one of which holds. */
export function Choice<T extends string>({ label, choices, value, onChange }: ChoiceProps<T>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset can't stand in a line of buttons
    <span class="picture-choices" role="group" aria-label={label}>
      {choices.map(([choice, text, hint]) => (
        <button
          key={choice}
          type="button"
          class="picture-choice"
          aria-pressed={choice === value}
          title={hint}
          onClick={() => onChange(choice)}
        >
          {text}
        </button>
      ))}
    </span>
  )
}
