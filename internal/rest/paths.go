package rest

// Paths are where everything of REST lies; one that ends in "/" stands for all below it. What lies elsewhere may be
// somebody else's, such as a page.
func Paths() []string {
	paths := []string{"/v1", "/v1/", openAPIPath, docsPath, docsPath + "/"}
	for _, a := range aliases {
		paths = append(paths, a, a+"/")
	}
	return paths
}
