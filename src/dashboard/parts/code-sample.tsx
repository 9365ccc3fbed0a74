import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { copyText } from '../data/copy.js'
import { IconButton } from './button.js'
import { Segmented } from './form/field.js'

const LANGUAGES = {
  curl: 'curl',
  ts: 'TypeScript',
  cli: 'CLI',
  json: 'JSON',
  node: 'Node.js alone',
  python: 'Python',
} as const

export type Language = keyof typeof LANGUAGES

export interface CodeSampleProps {
  /** The text in each language, in the order of the choices. */
  readonly sample: Readonly<Partial<Record<Language, string>>>
  readonly label: string
  /** A note beside the choice. */
  readonly note?: ComponentChildren | undefined
}

/** A code sample in several languages with a copy button. */
export function CodeSample({ sample, label, note }: CodeSampleProps) {
  const languages = Object.keys(sample) as Language[]
  const language = useSignal(languages[0]!)
  const text = sample[language.value] ?? ''
  return (
    <div class="code-sample">
      <div class="row apart">
        <Segmented
          label={label}
          value={language}
          options={languages.map(each => ({ value: each, text: LANGUAGES[each] }))}
        />
        {note}
        <IconButton
          size="sm"
          icon="copy"
          label={`Copy as ${LANGUAGES[language.value]}`}
          onPress={() => void copyText(text)}
        />
      </div>
      <Code text={text} label={label} />
    </div>
  )
}

/** Preformatted text that scrolls if it is wide. */
export function Code({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable element must be reachable by keyboard
    <section class="code" tabIndex={0} aria-label={label}>
      <pre>{text}</pre>
    </section>
  )
}
