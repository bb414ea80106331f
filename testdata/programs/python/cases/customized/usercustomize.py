print("usercustomize", __name__)
