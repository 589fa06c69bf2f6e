package server

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// secretSetting is what settings are called whose value is secret.
var secretSetting = regexp.MustCompile(`(^|\.)(secret|password|token|keys|accesskey)$`)

// An archive for support shows no setting that is a secret by its name, also not a new one that
// nobody listed.
func TestDescribeSettings_HidesEverySecret(t *testing.T) {
	t.Parallel()
	s := defaultSettings()
	planted := map[string]string{}
	plantSecrets(reflect.ValueOf(&s).Elem(), "", planted)
	if len(planted) < 7 {
		t.Fatalf("only %d settings are secrets by their names: %v", len(planted), planted)
	}
	text := string(describeSettings(s))
	for name, canary := range planted {
		if !strings.Contains(text, name+" = ") {
			t.Errorf("%s is not listed", name)
		}
		if strings.Contains(text, canary) {
			t.Errorf("%s is shown: add it to listSecretSettings", name)
		}
	}
}

// plantSecrets fills the settings below a value that are secrets by their names.
func plantSecrets(v reflect.Value, name string, planted map[string]string) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() && v.CanSet() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		plantSecrets(v.Elem(), name, planted)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				plantSecrets(v.Field(i),
					strings.TrimPrefix(name+"."+strings.ToLower(f.Name), "."), planted)
			}
		}
	case reflect.String:
		if secretSetting.MatchString(name) {
			planted[name] = fmt.Sprintf("canary%d", len(planted))
			v.SetString("first:" + planted[name])
		}
	}
}
