package pull

func Pulled(n int) int
