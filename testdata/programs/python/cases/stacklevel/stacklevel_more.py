def more():
    pass


more()
