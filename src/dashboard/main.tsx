import './styles/base.css'
import './styles/shell.css'
import './styles/parts.css'
import './styles/forms.css'
import './styles/table.css'
import './styles/layers.css'
import './styles/content.css'
import './styles/screens.css'
import { render } from 'preact'
import { App } from './app.js'
import { startClock } from './data/clock.js'
import { startSession } from './data/session.js'
import { loadScreens } from './lazy.js'
import { startKeys } from './shell/keys.js'
import { startRouter } from './shell/router.js'
import { startTheme } from './shell/theme.js'
import { startTitle } from './shell/title.js'

startTheme()
startClock()
startRouter()
startKeys()
startTitle()
// The screens load while the session request is in flight.
void loadScreens()
startSession()
render(<App />, document.getElementById('app')!)
