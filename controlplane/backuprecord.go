package controlplane

import "time"

// BackupRecord is one backup of the database that ended.
type BackupRecord struct {
	At time.Time
	// Name is its file; empty for one that 'nullops backup' wrote.
	Name  string
	Bytes int64
	// VerifiedAt is when it was restored into the scratch database; nil if it was not.
	VerifiedAt *time.Time
	// Error is empty unless it failed.
	Error string
}
