package cases

func hooks() Hooks { return Hooks{} }
