// Package failpoint lets a test kill our processes where a crash is worst.
//
// A Hook is called at named places; nil does nothing, and that is what every build without the tag
// failpoints has. With the tag, FromEnv makes one that kills the process, or fails, at a chosen
// visit of a chosen place. A package with places exports a list of their names, so that a sweep can
// visit them all.
package failpoint

// Hook may kill the process, take its time, or return an error that the place
// then meets. It may be called from several goroutines.
type Hook func(place string) error

// Hit visits a place.
func (h Hook) Hit(place string) error {
	if h == nil {
		return nil
	}
	return h(place)
}

// Pass visits a place after which no error can be returned: it is for crashes only.
func (h Hook) Pass(place string) { _ = h.Hit(place) }
