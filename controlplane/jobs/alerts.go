package jobs

import (
	"time"

	"github.com/nullops/nullops/controlplane/alerts"
)

// evaluateEvery is how late an alert may start or end.
const evaluateEvery = 10 * time.Second

// EvaluateAlerts starts and ends alerts. It has a worker of its own: alerts do not wait for other
// jobs, some of which take minutes.
func EvaluateAlerts(all *alerts.Alerts) Job {
	return Job{Name: "evaluate_alerts", Every: evaluateEvery, Do: all.Evaluate}
}
