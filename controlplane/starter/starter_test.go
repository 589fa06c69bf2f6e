package starter_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/nullops/nullops/controlplane/starter"
)

// The catalogue's copy of a plugin's description is the plugin's own: an admin who adds an entry
// would otherwise offer parameters that the image does not know.
func TestStarter_DescribesPluginsAsTheyAre(t *testing.T) {
	t.Parallel()
	all, err := starter.List()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, e := range all {
		for _, d := range e.Documents {
			if d.Kind != starter.KindPlugin {
				continue
			}
			checked++
			text, err := os.ReadFile(filepath.Join("..", "..", "plugins", d.Name, "component.json"))
			if err != nil {
				t.Fatal(err)
			}
			copied, err := json.Marshal(d.Definition["component"])
			if err != nil {
				t.Fatal(err)
			}
			var own, has any
			if err := json.Unmarshal(text, &own); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(copied, &has); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(own, has) {
				t.Errorf("%s: the component of %s differs from plugins/%s/component.json", e.Name, d.Name,
					d.Name)
			}
		}
	}
	if checked < 8 {
		t.Errorf("%d plugins were compared", checked)
	}
}
