package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/backup"
	"github.com/nullops/nullops/controlplane/jobs"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/migrations"
)

// BackupSettings is off while To is empty. They are settings of the process, like those of mail: so
// a stolen session of an admin cannot send the database elsewhere.
type BackupSettings struct {
	To    string     `description:"Folder, or s3://BUCKET/PREFIX; empty makes none."`
	Every int        `description:"Hours between two backups."`
	Keep  int        `description:"How many of the newest are kept."`
	S3    S3Settings `description:"Where the bucket is."`
}

// S3Settings is how the bucket of backups is reached.
type S3Settings struct {
	Endpoint string `description:"URL of the S3 service, such as https://s3.example.org."`
	Region   string `description:"Its region."`
	Key      string `description:"Access key."`
	Secret   string `description:"Secret of the access key."`
	File     string `description:"File that holds the secret, instead."`
}

func (b BackupSettings) check() error {
	if b.To == "" {
		return nil
	}
	if b.Every < 1 || b.Keep < 1 {
		return errors.New("settings backup.every and backup.keep: they have to be 1 or more")
	}
	_, err := b.target()
	return err
}

func (b BackupSettings) target() (backup.Target, error) {
	t, err := backup.NewTarget(b.To, backup.S3Access{Endpoint: b.S3.Endpoint, Region: b.S3.Region,
		Key: b.S3.Key, Secret: controlplane.NewPlain(b.S3.Secret)})
	if err != nil {
		return nil, fmt.Errorf("setting backup.to: %w", err)
	}
	return t, nil
}

// newBackupSchedule returns one without a target while no backups are wanted.
func (b *serverBase) newBackupSchedule(keys *seal.Keyring) (*backup.Schedule, error) {
	s := b.settings.Backup
	all := &backup.Schedule{Every: time.Duration(s.Every) * time.Hour, Keep: s.Keep,
		Log:    b.logOf("jobs"),
		Source: backup.Source{Store: b.store, Migrations: migrations.FS, Keys: keys, Build: release}}
	if s.To == "" {
		return all, nil
	}
	var err error
	all.Target, err = s.target()
	return all, err
}

// runBackups makes backups, in whichever control plane claims that.
func (b *serverBase) runBackups(ctx context.Context) error {
	if b.backups.Target == nil {
		return nil
	}
	worker := jobs.New(b.store, b.logOf("jobs"), jobs.BackUp(b.backups))
	worker.Ran = b.metrics.jobRan
	return worker.Run(ctx)
}
