package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func noFile(string) ([]byte, error) { return nil, errors.New("no such file") }

func TestReadSettings(t *testing.T) {
	file := func(name string) ([]byte, error) { return []byte("from " + name + "\n"), nil }
	s, err := readSettings([]string{"POSTGRES_PASSWORD=p=w"}, noFile)
	want := settings{
		user: "postgres", password: "p=w", database: "postgres", data: "/var/lib/postgresql/data",
	}
	if err != nil || s != want {
		t.Errorf("got %+v, %v", s, err)
	}
	s, err = readSettings([]string{
		"POSTGRES_PASSWORD_FILE=/f", "POSTGRES_USER=u", "PGDATA=/d",
	}, file)
	if want = (settings{"u", "from /f", "u", "/d"}); err != nil || s != want {
		t.Errorf("got %+v, %v", s, err)
	}
	if _, err = readSettings([]string{"POSTGRES_PASSWORD_FILE=/f"}, noFile); err == nil {
		t.Error("a missing password file was accepted")
	}
	if _, err = readSettings([]string{"POSTGRES_PASSWORD=a\nb"}, noFile); err == nil {
		t.Error("a password of two lines was accepted")
	}
	if err := (settings{}).needPassword(); err == nil ||
		!strings.Contains(err.Error(), "POSTGRES_PASSWORD is not set") {
		t.Errorf("no password: %v", err)
	}
}

// The server's own environment stays readable in /proc for its whole life.
func TestWithoutPassword(t *testing.T) {
	got := withoutPassword([]string{
		"A=1", "POSTGRES_PASSWORD=x", "POSTGRES_PASSWORD_FILE=/f", "POSTGRES_USER=u",
	})
	if !slices.Equal(got, []string{"A=1", "POSTGRES_USER=u"}) {
		t.Errorf("got %v", got)
	}
}
