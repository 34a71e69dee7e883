namespace forge {

class Commands {};

}  // namespace forge
