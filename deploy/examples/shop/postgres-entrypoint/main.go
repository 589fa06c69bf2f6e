// Command postgres-entrypoint starts the PostgreSQL server of the image built
// by tools/images. On the first start it makes the cluster, with the password
// of POSTGRES_PASSWORD (or of the file POSTGRES_PASSWORD_FILE names); then it
// becomes the server. It understands POSTGRES_USER, POSTGRES_DB and PGDATA as
// the official image does.
//
// The password is handed to initdb through a pipe, is never a file or an
// argument, and is gone from the environment before the server runs.
package main

import (
	"fmt"
	"os"
	"syscall"
)

func main() {
	if err := runEntrypoint(os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "postgres-entrypoint:", err)
		os.Exit(1)
	}
}

func runEntrypoint(args []string) error {
	// Another program than the server, such as psql, runs as it is.
	if len(args) > 0 && args[0] != "postgres" {
		return execProgram(args)
	}
	s, err := readSettings(os.Environ(), os.ReadFile)
	if err != nil {
		return err
	}
	cluster, err := ensureCluster(s)
	if err != nil {
		return err
	}
	server := []string{
		bin + "postgres", "-D", cluster,
		"-c", "listen_addresses=*", "-c", "unix_socket_directories=/tmp",
	}
	if len(args) > 1 {
		server = append(server, args[1:]...)
	}
	return execProgram(server)
}

// execProgram becomes the program, which thus is the one to get SIGTERM.
func execProgram(argv []string) error {
	path, err := findProgram(argv[0])
	if err != nil {
		return err
	}
	if err := syscall.Exec(path, argv, withoutPassword(os.Environ())); err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	return nil
}
