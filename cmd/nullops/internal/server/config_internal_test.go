package server

import "testing"

// Each setting has a variable. Where the product that this was taken from has a file of data and
// a path of a script, ours has a database; the script is a part of the program.
func TestLoadSettings_FromTheEnvironment(t *testing.T) {
	s, err := loadSettings(nil, []string{"NULLOPS_HTTP_LISTEN=:3001", "NULLOPS_HTTP_DATA=/state",
		"NULLOPS_DATABASE_URL=postgres://db/nullops", "HOME=/root", "NULLOPS_CLI_X=of no setting"})
	// promise: Y-02
	if err != nil || s.HTTP.Listen != ":3001" || s.HTTP.Data != "/state" ||
		s.Database.URL != "postgres://db/nullops" {
		t.Errorf("%v: read %+v, %+v", err, s.HTTP, s.Database)
	}
	s, err = loadSettings([]string{"--http.listen=:2"}, []string{"NULLOPS_HTTP_LISTEN=:3001"})
	if err != nil || s.HTTP.Listen != ":2" {
		t.Errorf("%v: a flag counts less than a variable: %+v", err, s.HTTP)
	}
	if _, err = loadSettings(nil, []string{"NULLOPS_HTPP_LISTEN=:3001"}); err == nil {
		t.Error("a variable that is no setting is accepted")
	}
	s, err = loadSettings(nil, nil)
	// promise: Y-01
	if err != nil || s.HTTP.Listen != "127.0.0.1:8080" {
		t.Errorf("%v: without settings it listens at %s", err, s.HTTP.Listen)
	}
}
