package controlplane

// Page asks for a part of a list: at most Limit items after the cursor After.
// Backwards reverses the order, for lists that support it.
type Page struct {
	After     string
	Limit     int
	Backwards bool
}

// MaxPage is the most items of one page, as the API's contract says.
const MaxPage = 500

// FetchLimit is how many rows to ask the database for: one more than the page
// holds, to know whether there is another page.
func (p Page) FetchLimit() int { return p.size() + 1 }

func (p Page) size() int {
	switch {
	case p.Limit <= 0:
		return 100
	case p.Limit > MaxPage:
		return MaxPage
	default:
		return p.Limit
	}
}

// CutPage returns the page's items and the cursor of the next page, "" at the end.
func CutPage[T any](p Page, items []T, cursor func(T) string) ([]T, string) {
	n := p.size()
	if len(items) <= n {
		return items, ""
	}
	return items[:n], cursor(items[n-1])
}

// SaveResult says what a put did to the object that it returns.
type SaveResult[T any] struct {
	// Changed is false when everything was so already.
	Changed bool
	Created bool
	Object  T
}
