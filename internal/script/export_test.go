package script

// What the test of the confinement needs: it runs code of its own where scripts run.
var (
	Confine            = confineProcess
	LimitResources     = limitResources
	ConfinedAttributes = confinedAttributes
)
