package packaging

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestMakeLayer_DependsOnContentOnly(t *testing.T) {
	files := []File{
		{Path: "b/two", Data: []byte("2")}, {Path: "a", Link: "b/two"}, {Path: "b", Dir: true},
	}
	first, err := MakeLayer(t.TempDir(), files)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(files)
	second, err := MakeLayer(t.TempDir(), files)
	if err != nil || first.Hash != second.Hash || first.Diff != second.Diff {
		t.Errorf("another order gave %v instead of %v, %v", second.Hash, first.Hash, err)
	}
	files[0].Mode = 0o700
	third, err := MakeLayer(t.TempDir(), files)
	if err != nil || third.Hash == first.Hash {
		t.Errorf("another mode gave the same layer, %v", err)
	}
}

// A layer left half-written by a killed build is made again.
func TestMakeLayer_IgnoresAnUnfinishedOne(t *testing.T) {
	cache, files := t.TempDir(), []File{{Path: "a", Data: []byte("1")}}
	whole, err := MakeLayer(cache, files)
	if err != nil {
		t.Fatal(err)
	}
	described, err := filepath.Glob(filepath.Join(cache, "layers", "*.json"))
	if err != nil || len(described) != 1 {
		t.Fatalf("descriptions: %v, %v", described, err)
	}
	if err := os.Remove(described[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(whole.blobPath, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := MakeLayer(cache, files)
	if err != nil || again.Hash != whole.Hash {
		t.Fatalf("got %v, %v", again.Hash, err)
	}
	if info, err := os.Stat(again.blobPath); err != nil || info.Size() != whole.Bytes {
		t.Errorf("the blob was not written again: %v", err)
	}
}
