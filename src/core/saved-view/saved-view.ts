import { about, anyText, type Infer, named, oneOf, text } from '../values/schema.js'
import { object, view } from '../values/shape.js'
import { timestamp } from '../values/time.js'

export const SAVED_VIEWS_MAX = 100
const NAME_MAX = 60
const QUERY_MAX = 2_000

/** The lists whose filters can be saved. */
export const SCREENS = ['jobs', 'dead'] as const

/** A filter of a list under a name, shared by everyone who may see the list. */
export const savedViewInput = named(
  'SavedViewInput',
  object({
    name: about(text(NAME_MAX), 'Each name exists once per screen.', { example: 'Failed payments' }),
    screen: about(oneOf(SCREENS), '`jobs` or `dead`: the list of jobs, or the dead letters.'),
    query: about(text(QUERY_MAX), 'The query of the dashboard’s URL.', { example: 'state=dead&queue=payments' }),
  }),
)
export type SavedViewInput = Infer<typeof savedViewInput>

export const savedView = named(
  'SavedView',
  view(
    {
      id: anyText,
      name: anyText,
      screen: oneOf(SCREENS),
      query: anyText,
      owner: about(anyText, 'The name of the token or person that saved it.'),
      createdAt: timestamp,
    },
    { tenantId: about(anyText, 'The tenant that it belongs to. Others do not see it.') },
  ),
)
export type SavedView = Infer<typeof savedView>
