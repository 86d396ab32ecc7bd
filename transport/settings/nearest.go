package settings

import "strings"

// Nearest returns the name of known that a misspelt one most likely means; "" when none is near.
func Nearest(name string, known []string) string {
	best, bestDistance := "", 1+max(2, len(name)/3)
	for _, candidate := range known {
		if d := Distance(strings.ToLower(name), strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// Distance is the number of letters to put in, take out or change to make b of a.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
