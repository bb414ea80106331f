pattern = "\d+"


def call():
    return "text" "more" is ()
