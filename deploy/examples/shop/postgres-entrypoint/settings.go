package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// bin is where Debian keeps the server's programs.
const bin = "/usr/lib/postgresql/15/bin/"

type settings struct {
	user, password, database string
	// data is the folder that may be a volume; the cluster is one below it.
	data string
}

// readSettings takes what it needs from the environment.
func readSettings(environ []string, readFile func(string) ([]byte, error)) (settings, error) {
	env := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	s := settings{
		user: env["POSTGRES_USER"], password: env["POSTGRES_PASSWORD"],
		database: env["POSTGRES_DB"], data: env["PGDATA"],
	}
	if file := env["POSTGRES_PASSWORD_FILE"]; file != "" {
		data, err := readFile(file)
		if err != nil {
			return s, fmt.Errorf("read POSTGRES_PASSWORD_FILE: %w", err)
		}
		s.password = strings.TrimRight(string(data), "\r\n")
	}
	if s.user == "" {
		s.user = "postgres"
	}
	if s.database == "" {
		s.database = s.user
	}
	if s.data == "" {
		s.data = "/var/lib/postgresql/data"
	}
	if strings.ContainsAny(s.password, "\r\n") {
		return s, errors.New("POSTGRES_PASSWORD has a line break; initdb would cut it there")
	}
	return s, nil
}

// needPassword is asked on the first start only.
func (s settings) needPassword() error {
	if s.password == "" {
		return errors.New("POSTGRES_PASSWORD is not set; " +
			"set it, or POSTGRES_PASSWORD_FILE to a file that holds it")
	}
	return nil
}

// withoutPassword is the environment the server may have.
func withoutPassword(environ []string) []string {
	kept := []string{}
	for _, pair := range environ {
		if !strings.HasPrefix(pair, "POSTGRES_PASSWORD") {
			kept = append(kept, pair)
		}
	}
	return kept
}

func findProgram(program string) (string, error) {
	if strings.Contains(program, "/") {
		return program, nil
	}
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	path, err := exec.LookPath(bin + program)
	if err != nil {
		return "", fmt.Errorf("no program %q in this image: %w", program, err)
	}
	return path, nil
}
