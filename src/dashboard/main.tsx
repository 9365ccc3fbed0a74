import './base.css'
import './shell.css'
import './parts.css'
import './forms.css'
import './table.css'
import './layers.css'
import './content.css'
import './screens.css'
import { render } from 'preact'
import { App } from './app.js'
import { startClock } from './clock.js'
import { startKeys } from './keys.js'
import { prefetch } from './lazy.js'
import { startRouter } from './router.js'
import { startSession } from './session.js'
import { startTheme } from './theme.js'
import { startTitle } from './title.js'

startTheme()
startClock()
startRouter()
startKeys()
startTitle()
// The screens come while the server is asked who we are.
prefetch('overview')
startSession()
render(<App />, document.getElementById('app')!)
