package wire_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

func TestToken_SurvivesItsText(t *testing.T) {
	control := wiretest.NewIdentity(t)
	for range 200 { // enough for every shape of base64, underscores included
		token := wire.NewToken(control.SPKI())
		text := token.Reveal()
		again, err := wire.ParseToken(" " + text + "\n")
		if err != nil || again != token || again.Key() != token.Key() {
			t.Fatalf("%s came back as another token: %v", token, err)
		}
		// promise: V-15
		if !strings.HasPrefix(text, "nopa1_"+token.Kid+"_") || len(token.Kid) != 10 {
			t.Fatalf("token has another shape than nopa1_<kid>_…: kid %q", token.Kid)
		}
		if !token.MadeBy(control.SPKI()) || token.MadeBy(wire.SPKI{}) {
			t.Fatal("the token does not pin the control plane's key")
		}
	}
}

func TestParseToken_NamesWhatIsWrongAndRepeatsNothing(t *testing.T) {
	text := wire.NewToken(wire.SPKI{1}).Reveal()
	secret := text[17:60]
	for name, tc := range map[string]struct{ text, says string }{
		"empty":         {"", "must start with"},
		"other product": {"ghp_" + text, "must start with"},
		"truncated":     {text[:len(text)-4], "copy it whole"},
		"too long":      {text + "x", "copy it whole"},
		"wrong letter":  {strings.Replace(text, secret[:1], "!", 1), "must start with|checksum"},
		"twice":         {text + text, "copy it whole"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := wire.ParseToken(tc.text)
			if !errors.Is(err, wire.ErrBadToken) {
				t.Fatalf("got %v", err)
			}
			if !containsAny(err.Error(), strings.Split(tc.says, "|")) {
				t.Errorf("%q does not say %q", err, tc.says)
			}
			if strings.Contains(err.Error(), secret[:8]) {
				t.Error("the error repeats the secret")
			}
		})
	}
}

func containsAny(s string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

func TestParseToken_FindsEverySingleWrongLetter(t *testing.T) {
	text := wire.NewToken(wire.SPKI{1}).Reveal()
	for i := range text {
		for _, c := range "aZ0_-\x00" {
			wrong := text[:i] + string(c) + text[i+1:]
			if _, err := wire.ParseToken(wrong); wrong != text && err == nil {
				t.Fatalf("letter %d may be %q", i, c)
			}
		}
	}
}

func TestSecrets_PrintAsSuch(t *testing.T) {
	token := wire.NewToken(wire.SPKI{1})
	identity := wiretest.NewIdentity(t)
	config := wire.DialConfig{Key: token.Key(), Identity: identity}
	text := token.Reveal()
	key := token.Key().Bytes()
	hidden := []string{text[17:60], string(key), fmt.Sprintf("%x", key), fmt.Sprint(key),
		base64.StdEncoding.EncodeToString(key), "PRIVATE KEY"}
	var logged strings.Builder
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("all", "token", token, "key", token.Key(),
		"identity", identity, "config", config)
	encoded, err := json.Marshal([]any{token, token.Key()})
	if err != nil {
		t.Fatal(err)
	}
	for _, printed := range []string{
		fmt.Sprintf("%v %+v %#v %s %q %x %d", token, token, token, token, token, token, token),
		fmt.Sprintf("%v %+v %#v %x", token.Key(), token.Key(), token.Key(), token.Key()),
		fmt.Sprintf("%v %+v %#v", config, config, config),
		fmt.Sprintf("%v %+v %#v", identity, identity, identity),
		logged.String(), string(encoded),
	} {
		for _, secret := range hidden {
			if strings.Contains(printed, secret) {
				t.Errorf("printed a secret: %.60q…", printed)
			}
		}
	}
}

func TestKeyFromBytes(t *testing.T) {
	key := wire.NewToken(wire.SPKI{}).Key()
	again, err := wire.KeyFromBytes(key.Bytes())
	if err != nil || again != key {
		t.Fatalf("%v", err)
	}
	if _, err := wire.KeyFromBytes(key.Bytes()[:31]); err == nil {
		t.Fatal("took 31 bytes for a key")
	}
}
