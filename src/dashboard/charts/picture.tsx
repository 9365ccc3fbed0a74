import './pictures.css'
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'

export interface PictureTable {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly (string | number)[])[]
}

interface PictureProps {
  readonly title: ComponentChildren
  /** One sentence that summarizes the picture. */
  readonly summary?: string | undefined
  /** The same data as a table. */
  readonly table: PictureTable
  /** Controls beside the title. */
  readonly controls?: ComponentChildren
  /** Explains the colours and signs below the picture. */
  readonly legend?: ComponentChildren
  readonly children: ComponentChildren
}

/** The frame of every drawing: title, drawing or table, and legend. */
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
            title={isTable ? 'Show the chart' : 'Show the data as a table'}
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
    // biome-ignore lint/a11y: a scrollable element must be reachable by keyboard, and this one is no landmark
    <div class="picture-table" role="group" tabIndex={0} aria-label="Data table">
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
      {rows.length === 0 && <p class="picture-nothing">No data yet.</p>}
    </div>
  )
}

interface ChoiceProps<T extends string> {
  readonly label: string
  readonly choices: readonly (readonly [value: T, text: string, hint?: string])[]
  readonly value: T
  readonly onChange: (value: T) => void
}

/** A choice between views of a picture. */
export function Choice<T extends string>({ label, choices, value, onChange }: ChoiceProps<T>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset can't be part of a line of buttons
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
