package pipeline

// Health is what the last probe of a service said.
type Health string

// The healths. Unknown is shown while the node cannot be asked.
const (
	HealthStarting  Health = "starting"
	HealthHealthy   Health = "healthy"
	HealthUnhealthy Health = "unhealthy"
	HealthStopped   Health = "stopped"
	HealthUnknown   Health = "unknown"
)
