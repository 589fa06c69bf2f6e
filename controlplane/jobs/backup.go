package jobs

import (
	"time"

	"github.com/nullops/nullops/controlplane/backup"
)

// backupLongest is how long a large database may take, there and back.
const backupLongest = 6 * time.Hour

// BackUp makes scheduled backups. It has a worker of its own: other jobs do not wait for it.
func BackUp(s *backup.Schedule) Job {
	return Job{Name: backup.JobName, Every: s.Every, Do: s.Run, Longest: backupLongest}
}
