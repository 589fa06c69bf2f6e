import DefaultTheme from 'vitepress/theme-without-fonts'
import { nextTick, onMounted, watch } from 'vue'
import { useRoute } from 'vitepress'
import { fillIn } from './samples.js'
import './style.css'

export default {
  extends: DefaultTheme,
  setup() {
    const route = useRoute()
    const fill = () => nextTick(() => fillIn(document.querySelector('.vp-doc')))
    onMounted(fill)
    watch(() => route.path, fill)
  },
}
