package agent_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// Whatever is on the disk and however full it is: what someone uses, what is kept, what was asked
// for lately and what is not ours is never chosen; and no more is than the floor takes.
func TestSpare_TakesOnlyWhatNobodyNeeds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_700_000_000, 0)
		store := agent.ImageStore{Free: rapid.Int64Range(0, 100).Draw(t, "free"), Total: 1000}
		floor := rapid.Int64Range(0, 200).Draw(t, "floor")
		pulled := map[string]agent.UsedImage{}
		var kept []pipeline.Image
		needed := map[string]bool{}
		for n := range rapid.IntRange(0, 12).Draw(t, "images") {
			digest := fmt.Sprintf("sha256:%064d", n)
			image := pipeline.Image{Registry: "r", Repository: "app", Tag: fmt.Sprint(n),
				Digest: digest}
			i := agent.StoredImage{References: []string{"r/app@" + digest},
				Size:   rapid.Int64Range(1, 40).Draw(t, "size"),
				Tagged: rapid.Bool().Draw(t, "tagged"), InUse: rapid.Bool().Draw(t, "in use")}
			store.Images = append(store.Images, i)
			ours, young := rapid.Bool().Draw(t, "ours"), rapid.Bool().Draw(t, "young")
			age := time.Duration(100+n) * time.Hour
			if young {
				age = time.Minute
			}
			if ours {
				pulled[digest] = agent.UsedImage{Registry: "r", Repository: "app",
					Tag: image.Tag, Used: now.Add(-age)}
			}
			how := rapid.IntRange(0, 3).Draw(t, "kept")
			switch how {
			case 1:
				kept = append(kept, pipeline.Image{Digest: digest})
			case 2:
				image.Digest = ""
				kept = append(kept, image)
			}
			needed[digest] = i.Tagged || i.InUse || !ours || young || how == 1 || how == 2
		}
		free := store.Free
		gone := agent.SelectImagesToRemove(store, floor, pulled, kept, now)
		for _, i := range gone {
			digest := i.References[0][len("r/app@"):]
			if needed[digest] {
				t.Fatalf("it removes %s, which is needed: %+v", digest, i)
			}
			if free >= floor {
				t.Fatalf("it removes %s although %d of %d are free", digest, free, floor)
			}
			free += i.Size
		}
		if free < floor && len(gone) < len(store.Images)-countNeeded(needed) {
			t.Fatalf("%d of %d are free, and it leaves what nobody needs", free, floor)
		}
		oldestFirst := slices.IsSortedFunc(gone, func(a, b agent.StoredImage) int {
			return -cmp.Compare(a.References[0], b.References[0])
		})
		if !oldestFirst {
			t.Fatalf("not the oldest first: %+v", gone)
		}
	})
}

func countNeeded(needed map[string]bool) (n int) {
	for _, yes := range needed {
		if yes {
			n++
		}
	}
	return n
}

func TestParseFloor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"0": 0, "10%": 100, "2GiB": 2 << 30,
		"1.5MiB": 3 << 19, "0%": 0} {
		f, err := agent.ParseDiskFloor(text)
		if err != nil || f.BytesOf(1000) != want {
			t.Errorf("%q: %d, %v; wanted %d", text, f.BytesOf(1000), err, want)
		}
	}
	for _, text := range []string{"", "10", "-1GiB", "91%", "ten", "5%GiB", "1e30GiB", "NaN%",
		"10GB"} {
		if f, err := agent.ParseDiskFloor(text); err == nil {
			t.Errorf("%q is taken for %+v", text, f)
		}
	}
}
