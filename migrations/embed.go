// Package migrations holds the schema of the control plane's database, one
// numbered idea per file. A merged file is never edited again: the next idea
// gets the next number.
package migrations

import "embed"

// FS holds the files, for goose.
//
//go:embed *.sql
var FS embed.FS
